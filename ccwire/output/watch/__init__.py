"""The live view of `ccwire watch`: its layout, and the terminal that it is drawn on."""
