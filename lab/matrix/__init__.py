"""Every release of the real client run through every case, and judged by the evidence it left."""
