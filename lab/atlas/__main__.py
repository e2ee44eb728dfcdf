"""`python -m lab.atlas`: runs the real releases and writes the atlas."""

from lab.atlas.build import main

if __name__ == "__main__":
    main()
