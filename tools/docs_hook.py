"""What MkDocs calls while it builds the site: pages that are made from the code, and links to it."""

from pathlib import Path

from docs_pages import site
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of docs/ is."""
    for name, text in site.generated(Path(config.docs_dir)).items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Finish a page, before it becomes HTML."""
    return site.finished(markdown, page.file.src_uri, Path(config.docs_dir))
