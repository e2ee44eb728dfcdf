"""`python -m ccwire`."""

from ccwire.entry import main

if __name__ == "__main__":
    main()
