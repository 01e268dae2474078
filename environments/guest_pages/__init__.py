"""The script that tells what a guest of the proxy was shown and did."""
