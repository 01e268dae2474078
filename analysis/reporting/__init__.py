"""Reports: sections, HTML, figures' style, JSON."""
