"""Run the real releases and write the atlas: `python -m lab.atlas`."""

from lab.atlas.build import main

if __name__ == "__main__":
    main()
