"""Spreadsheets: the first sheet is a table."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

import elsewhere as ew

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/></Relationships>'
)
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def xlsx(path: Path, rows: list[list[str | float]]) -> Path:
    """The smallest workbook that there is."""
    lines = []
    for row in rows:
        cells = [
            f'<c t="inlineStr"><is><t>{cell}</t></is></c>' if isinstance(cell, str) else f"<c><v>{cell}</v></c>"
            for cell in row
        ]
        lines.append(f"<row>{''.join(cells)}</row>")
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS.format(office=_OFFICE, kind="officeDocument", target="xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _RELATIONS.format(
            office=_OFFICE, kind="worksheet", target="worksheets/sheet1.xml"
        ),
        "xl/worksheets/sheet1.xml": f"<worksheet {_MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


_OPEN = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"


def ods(path: Path, rows: list[list[str | float]]) -> Path:
    """The smallest one of LibreOffice."""
    lines = []
    for row in rows:
        cells = [f"<table:table-cell {_kind(cell)}><text:p>{cell}</text:p></table:table-cell>" for cell in row]
        lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
    spaces = " ".join(f'xmlns:{name}="{_OPEN.format(name)}"' for name in ("office", "table", "text"))
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    parts = {
        "mimetype": kind,
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_OPEN.format("manifest")}"><m:file-entry m:full-path="/" '
        f'm:media-type="{kind}"/></m:manifest>',
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="a">{"".join(lines)}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _kind(cell: str | float) -> str:
    return 'office:value-type="string"' if isinstance(cell, str) else f'office:value-type="float" office:value="{cell}"'


@pytest.fixture
def needs_reader() -> None:
    if not os.environ.get("CI"):
        pytest.importorskip("python_calamine")


@pytest.mark.usefixtures("needs_reader")
def test_the_first_sheet(tmp_path: Path) -> None:
    rows: list[list[str | float]] = [["place", "visits"], ["café", 7], [12, 2], ["café", 1]]
    for table in (xlsx(tmp_path / "a.xlsx", rows), ods(tmp_path / "a.ods", rows)):
        history = ew.read(table)
        assert (history.format, dict(history.histogram)) == ("sheet", {"café": 8, "12": 2})
    with pytest.raises(ew.InputError, match=r"a\.xlsx: row 3 gives 'gym' the count 1\.5; counts must be whole"):
        ew.read(xlsx(tmp_path / "a.xlsx", [["place", "visits"], ["café", 7], ["gym", 1.5]]))
    with pytest.raises(ew.InputError, match="its first sheet is empty"):
        ew.read(xlsx(tmp_path / "a.xlsx", []))


@pytest.mark.usefixtures("needs_reader")
def test_broken_sheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook")
    with pytest.raises(ew.InputError, match="it is not a valid spreadsheet"):
        ew.read(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 60_000_000)
    with pytest.raises(ew.InputError, match="far too large when unpacked"):
        ew.read(path)


def test_without_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ew.InputError, match=r"unless you save them as CSV; .* pip install 'elsewhere\[sheets\]'"):
        ew.read(xlsx(tmp_path / "a.xlsx", [["place"], ["café"]]))
