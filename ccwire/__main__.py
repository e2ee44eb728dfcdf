"""`python -m ccwire`."""

from ccwire.cli import main

if __name__ == "__main__":
    main()
