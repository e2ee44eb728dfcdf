"""`python -m ccwire.demo.client`: the simulated client as a program."""

from ccwire.demo.client.cli import main

if __name__ == "__main__":
    main()
