"""A hook of mkdocs: the notebooks of docs/ become pages, with the outputs that are stored in them."""

from mkdocs.structure.files import File
from nbconvert import MarkdownExporter


def on_files(files, config):
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        text, resources = MarkdownExporter().from_filename(file.abs_src_path)
        text = text.replace(' border="1" class="dataframe"', "")  # the theme styles tables without a class
        files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=text))
        for name, image in resources["outputs"].items():
            files.append(File.generated(config, name, content=image))
    return files


def on_page_markdown(markdown, **_):
    return markdown.replace(".ipynb)", ".md)")  # a link to a notebook leads to its page
