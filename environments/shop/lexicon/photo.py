"""Word lists: digital cameras, lenses, flashes."""

from environments.shop.lexicon.shelf import shelf

_MOUNTS = "E Mount; RF Mount; Z Mount; L Mount; Micro Four Thirds; X Mount; EF Mount; F Mount"

SHELVES = {
    "Digital Cameras": shelf(
        brands="""Lumora; Okular; Vistagraf; Prismo; Field & Frame; Halide Works; Candela; Opteryx;
            Shutterby; Northlight; Fokal; Silverplate""",
        heads="""{brand} {model} {pixels} {kind}, {color}; {brand} {model} {kind} with {zoom}, {pixels},
            {color}; {brand} {pixels} {kind}, {video} Video, {color}; {brand} {model} {kind} ({color})
            with {feature}""",
        tails="""{feature}; {video} Video; {zoom}; {screen} Screen; for {user}; Wi-Fi and Bluetooth; Image
            Stabilization; Rechargeable Battery; Time Lapse and Slow Motion; SD Card Slot; Face and Eye
            Autofocus""",
        words={
            "kind": """Compact Camera; Mirrorless Camera; DSLR Camera Body; Bridge Camera; Kids Camera;
                Waterproof Camera; Vlogging Camera; Action Camera""",
            "color": "Black; Silver; White; Blue; Red; Graphite",
            "video": "720p; 1080p; 2.7K; 4K",
            "screen": '2.4"; 2.8"; 3.0"; 3.2"; Flip 3.0"',
            "feature": """Optical Viewfinder; Flip Screen; In-Body Stabilization; Underwater Housing;
                Silent Shutter; Film Looks; Webcam Mode""",
            "user": "Beginners; Travel; Kids; Vloggers; Family Events; Wildlife",
            "model": "A10; X-3; Nova 7; P900; Trek; D44; Lyric; Z-5; V2; Orbit",
        },
        grades={
            "pixels": "5 MP; 8 MP; 12 MP; 16 MP; 18 MP; 20 MP; 24 MP; 26 MP; 33 MP; 45 MP",
            "zoom": """4x Digital Zoom; 8x Digital Zoom; 3x Optical Zoom; 5x Optical Zoom; 12x Optical
                Zoom; 30x Optical Zoom; 60x Optical Zoom""",
        },
        options={"Color": "color"},
        details={
            "Camera Type": "{kind}",
            "Resolution": "{pixels}",
            "Color": "{color}",
            "Video": "{video}",
            "Screen": "{screen}",
            "Zoom": "{zoom}",
        },
        bullets="""{pixels} sensor with {video} video; {zoom} for subjects near and far; {feature} and a
            bright {screen} screen; Made for {user}; Pictures go to a phone over Wi-Fi; The battery
            charges by USB-C, in the camera; {brand} includes a strap, a battery and a {color} lens cap""",
        aspects="picture quality; autofocus; battery; screen; build; controls",
    ),
    "Lenses": shelf(
        brands="""Arclight Optics; Glasshouse; Vertex Lens Co.; Meridian Optic; Bokehra; Telluma;
            Crownglass; Iris & Iron; Parfocal; Clearwater Optics; Nodal; Aspheria""",
        heads="""{brand} {focal} {aperture} {kind} Lens for {mount}; {brand} {kind} Lens {focal}
            {aperture}, {mount}; {brand} {focal} {kind} Lens with {feature}, {mount}; {brand} {series}
            {focal} {aperture} Lens for {mount}, {color}""",
        tails="""{feature}; {format} Coverage; {elements}; for {use}; Metal Housing; Lens Hood Included;
            Weather Resistant; Quiet Autofocus; Rounded Aperture Blades; Low Distortion; Multi-Layer
            Coating""",
        words={
            "focal": """12mm; 14mm; 24mm; 28mm; 35mm; 50mm; 56mm; 85mm; 100mm; 135mm; 16-35mm; 24-70mm;
                70-200mm; 18-55mm; 150-600mm""",
            "kind": "Wide Angle; Prime; Macro; Telephoto; Zoom; Fisheye; Portrait; Manual Focus; Tilt",
            "mount": _MOUNTS,
            "format": "Full Frame; APS-C; Micro Four Thirds",
            "feature": """Image Stabilization; Click-Free Aperture Ring; Internal Focus; Stepping Motor;
                Fluorine Coating; 52 mm Filter Thread""",
            "elements": """9 Elements in 7 Groups; 11 Elements in 9 Groups; 13 Elements in 10 Groups; 7
                Elements in 5 Groups""",
            "use": "Portraits; Landscapes; Street; Video; Astrophotography; Wildlife; Travel",
            "series": "Studio; Field; Cine; Classic; Compact; Heritage",
            "color": "Black; Silver; Titanium",
        },
        grades={"aperture": "f/8; f/5.6; f/4.5; f/4; f/3.5; f/2.8; f/2; f/1.8; f/1.4; f/1.2; f/0.95"},
        options={"Mount": "mount", "Color": "color"},
        details={
            "Focal Length": "{focal}",
            "Maximum Aperture": "{aperture}",
            "Mount": "{mount}",
            "Coverage": "{format}",
            "Construction": "{elements}",
        },
        bullets="""{focal} {kind} lens, {aperture}, for {mount} bodies; {elements} keep edges sharp;
            {feature}; {format} coverage, well suited to {use}; All metal barrel with damped rings; Front
            and rear caps and a hood are in the box; {brand} checks every copy on a test chart""",
        aspects="sharpness; build; autofocus; contrast; weight; focus ring",
    ),
    "Flashes": shelf(
        brands="""Flarewell; Strobeck; Lumenjack; Quickspark; Photonique; Brightbox; Halo & Hare;
            Speedfox; Glint; Kelvin & Co.; Bouncecraft; Sparrowlight""",
        heads="""{brand} {model} {kind}, {number}, for {mount}; {brand} {kind} with {feature}, {number};
            {brand} {model} {sync} {kind} for {mount}; {brand} {number} {kind} with {feature} for {mount}""",
        tails="""{feature}; {sync}; {recycle} Recycle Time; for {use}; Swivel and Bounce Head; LCD Panel;
            Built-in Diffuser; Rechargeable Battery; Wireless Slave Mode; Carry Pouch""",
        words={
            "kind": """Camera Flash; Speedlight; Ring Flash; Studio Strobe; Macro Twin Flash; Pocket
                Flash; Video Light and Flash""",
            "mount": """Most DSLR Cameras; Mirrorless Cameras; Standard Hot Shoe; Multi Interface Shoe;
                Compact Cameras""",
            "sync": "TTL and Manual; Manual Only; High Speed Sync 1/8000 s; 2.4 GHz Radio",
            "recycle": "1.2 s; 1.5 s; 2.0 s; 2.6 s; 4 s",
            "feature": """Optical Trigger; Color Filters; LED Modeling Light; Zoom Head; Mini Softbox;
                USB-C Port""",
            "use": "Portraits; Events; Macro; Product Photos; Weddings",
            "model": "S60; V8; Duo; M-36; Pro 2; TT5; Mini",
            "color": "Black; White",
        },
        grades={"number": "GN18; GN24; GN28; GN33; GN38; GN45; GN54; GN60; GN76"},
        options={"Fit": "mount"},
        details={
            "Type": "{kind}",
            "Guide Number": "{number}",
            "Fits": "{mount}",
            "Exposure Control": "{sync}",
            "Recycle Time": "{recycle}",
        },
        bullets="""{number} at ISO 100, with a head that tilts and turns; {sync}; Ready again after
            {recycle}; {feature} for {use}; Fits {mount}; The panel stays readable in sunlight; {brand}
            adds a stand, a diffuser and a pouch""",
        aspects="power; recycle time; build; battery; menu; fit",
    ),
}
