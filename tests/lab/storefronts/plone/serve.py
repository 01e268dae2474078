"""Run Plone with bda.plone.shop and the test catalogue, inside the environment that `install.py` made for it.

Writes `shop ready URL` when it serves, and ends when its standard input is closed.
"""

import json
import shutil
import sys
import tempfile
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[1] / "catalogue.json"
ZOPE = """\
instancehome {folder}
<zodb_db main>
  <mappingstorage>
  </mappingstorage>
  mount-point /
</zodb_db>
"""


PROFILES = (
    "Products.CMFPlone:dependencies",
    "plone.app.contenttypes:default",
    "plonetheme.barceloneta:default",
    "bda.plone.shop:default",
)


def fill(app: Any) -> None:
    import transaction
    from AccessControl.SecurityManagement import newSecurityManager
    from plone import api
    from plone.dexterity.interfaces import IDexterityFTI
    from Products.CMFPlone.factory import addPloneSite
    from Testing.makerequest import makerequest
    from zope.component import getUtility
    from zope.component.hooks import setSite
    from zope.globalrequest import setRequest

    app = makerequest(app)
    setRequest(app.REQUEST)
    app.acl_users.userFolderAddUser("admin", "only for tests", ["Manager"], [])
    newSecurityManager(None, app.acl_users.getUser("admin").__of__(app.acl_users))
    portal = addPloneSite(app, "shop", title="Shop", setup_content=False, extension_ids=PROFILES)
    setSite(portal)
    # By default its looks are left out at this address.
    api.portal.set_registry_record("plone.app.theming.interfaces.IThemeSettings.hostnameBlacklist", [])
    for permission in ("View Buyable Info", "Modify Cart"):
        portal.manage_permission(f"bda.plone.shop: {permission}", ["Anonymous", "Manager"], acquire=1)
    portal.portal_workflow.setDefaultChain("one_state_workflow")
    getUtility(IDexterityFTI, name="Document").behaviors += (
        "bda.plone.shop.dx.IBuyableBehavior",
        "bda.plone.shop.dx.IStockBehavior",
        "bda.plone.shop.dx.IShippingBehavior",
    )
    for item in json.loads(CATALOGUE.read_text(encoding="utf-8")):
        category = item["category"]
        if category.lower() not in portal:
            api.content.create(portal, "Folder", category.lower(), category).setLayout("summary_view")
        api.content.create(
            portal[category.lower()], "Document", item["slug"], item["name"], description=item["description"],
            item_net=Decimal(item["price"]), item_vat=Decimal(0), item_available=float(item["stock"]),
        )  # fmt: skip
    transaction.commit()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="souk-plone-") as name:
        folder = Path(name)
        (folder / "etc").mkdir()
        (folder / "etc" / "zope.conf").write_text(ZOPE.format(folder=folder))
        import Zope2
        from waitress.server import create_server
        from Zope2.Startup.run import make_wsgi_app

        usual = Path(Zope2.__file__).parent / "utilities" / "skel" / "etc" / "site.zcml"
        shutil.copy(usual, folder / "etc")
        application = make_wsgi_app({}, str(folder / "etc" / "zope.conf"))
        fill(Zope2.app())
        server = create_server(
            application, host="127.0.0.1", port=0, threads=8,
            trusted_proxy="127.0.0.1", trusted_proxy_headers="x-forwarded-proto",
        )  # fmt: skip
        print(f"shop ready http://127.0.0.1:{server.effective_port}/", flush=True)
        threading.Thread(target=server.run, daemon=True).start()
        sys.stdin.read()
