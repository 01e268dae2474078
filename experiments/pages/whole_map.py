"""Make a site map from first to last: propose, learn from a purchase, write, draw, prove."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.pages.layers import layers_over
from experiments.pages.mapped_picture import picture
from experiments.pages.proof import Proof, prove
from experiments.pages.purchasing import learned
from experiments.pages.site_mapping import SiteMapping, map_site, save
from interventions.apply.following import left_behind
from interventions.errors import UserError
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.proposal.check import HTML


@dataclass(frozen=True)
class ProvedMap:
    """A map that was written: the proposal, the proof of each role, and what does not work."""

    mapped: SiteMapping
    proofs: dict[str, Proof]
    troubles: tuple[str, ...]

    def verdict(self, role: str) -> str:
        """Return in words whether a role is proved."""
        proof = self.proofs.get(role)
        if proof is None or proof.proved is None:
            return "not tried"
        return f"proved: {proof.why}" if proof.proved else f"not proved: {proof.why}"

    def as_json(self) -> dict[str, Any]:
        """Return the whole result as plain data."""
        proposal = self.mapped.proposal
        roles = [
            {
                "role": role.role,
                "places": [place.model_dump(exclude_defaults=True) for place in role.places],
                "text": role.text,
                "confidence": role.confidence,
                "reason": role.reason,
                "scripted": role.scripted,
                **self._proof(role.role),
            }
            for role in proposal.roles
        ]
        choice = (
            proposal.learned.choice.model_dump(mode="json", exclude_defaults=True) if proposal.learned else {}
        )
        return {
            "name": proposal.name,
            "pages": proposal.pages,
            "roles": roles,
            "choice": {
                name: {"rules": rules, **self._proof(f"choice.{name}")} for name, rules in choice.items()
            },
            "dismiss": [button.model_dump(exclude_defaults=True) for button in proposal.dismiss],
            "missing": proposal.missing,
            "troubles": list(self.troubles),
            "by_hand": list(proposal.learned.by_hand) if proposal.learned else [],
        }

    def _proof(self, role: str) -> dict[str, Any]:
        proof = self.proofs.get(role, Proof(None, "not tried"))
        return {"proved": proof.proved, "why": proof.why}


async def map_and_prove(
    url: str,
    listing: str | None,
    *,
    name: str,
    file: Path,
    png: Path | None,
    render: bool = False,
    follow: int = 6,
    buys: bool = True,
    upstream_ca: Path | None = None,
) -> ProvedMap:
    """Propose a map of the shop, write it to `file` and, where asked for, its picture to `png`, and prove it.

    Raises UserError.
    """
    mapped = await map_site(url, listing, name=name, render=render, follow=follow, upstream_ca=upstream_ca)
    dismiss, troubles = await layers_over(mapped)
    mapped = replace(mapped, proposal=replace(mapped.proposal, dismiss=dismiss))
    if buys:
        mapped, more = await learned(mapped)
        troubles = (*troubles, *more)
    site, faults = save(mapped, file)
    if png is not None:
        _write(png, await picture(mapped))
    proofs = await prove(mapped, site, buys=buys, upstream_ca=upstream_ca)
    lost, again = _drawn_over(proofs), site.model_copy(update={"drawn": True})
    if lost and not site.drawn:
        cured = await prove(mapped, again, buys=buys, upstream_ca=upstream_ca)
        proved = {role for role, proof in proofs.items() if proof.proved}
        if _drawn_over(cured) < lost and all(cured[role].proved for role in proved):
            mapped = replace(mapped, proposal=replace(mapped.proposal, is_redrawn=True))
            (site, faults), proofs = save(mapped, file, anew=True), cured
    undone = [f"{mapped.product.url}: {each}: {proofs[each].why}" for each in sorted(_drawn_over(proofs))]
    read = Page(mapped.product.html.encode(), HTML, Marks(frozenset()), mapped.product.url)
    left = [f"{mapped.product.url}: {said}" for said in [left_behind(read, site)] if said]
    return ProvedMap(mapped, proofs, (*troubles, *faults, *undone, *left))


def _drawn_over(proofs: dict[str, Proof]) -> set[str]:
    return {role for role, proof in proofs.items() if proof.is_drawn_over}


def _write(png: Path, image: bytes) -> None:
    try:
        png.write_bytes(image)
    except OSError as error:
        raise UserError(
            f"{png}: cannot be written ({error.strerror}); choose another file with --out"
        ) from None
