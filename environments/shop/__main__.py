"""`python -m environments.shop [--port N] [--seed N]`"""

from environments.shop.server import main

main()
