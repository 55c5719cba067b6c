import { posix } from "node:path";
import { Marked, type Tokens } from "marked";
import { escapeHtml } from "../../src/messages/message.ts";

/** A heading of a page. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Path of the site below the service. */
export const BASE = "/docs";

/** Anchors of headings, as code hosting sites derive them. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

/** HTML of a page. @param path of the page in the site, to which its links are relative. */
export function renderMarkdown(text: string, path: string): Rendered {
  const used = new Map<string, number>();
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const html = this.parser.parseInline(tokens);
        const plain = textOf(html);
        const anchor = anchorOf(plain);
        const times = used.get(anchor) ?? 0;
        used.set(anchor, times + 1);
        const id = times === 0 ? anchor : `${anchor}-${times}`;
        return `<h${depth} id="${escapeHtml(id)}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const inner = this.parser.parseInline(tokens);
        const isOther = /^[a-z]+:/.test(href);
        const rel = isOther ? ' rel="noreferrer"' : "";
        return `<a href="${escapeHtml(addressOf(href, path))}"${rel}>${inner}</a>`;
      },
      image: ({ href, text: alt }: Tokens.Image): string =>
        `<img src="${escapeHtml(addressOf(href, path))}" alt="${escapeHtml(alt)}">`,
    },
  });
  const html = marked
    .parse(text, { async: false })
    .replaceAll("<table>", '<div class="table"><table>')
    .replaceAll("</table>", "</table></div>");
  return { html, headings: headingsOf(html) };
}

function addressOf(href: string, path: string): string {
  if (href.startsWith("/")) return BASE + href;
  if (href.startsWith("./")) return BASE + posix.join(posix.dirname(`${path}x`), href);
  return href;
}

/** Headings of generated pages are HTML in the Markdown, so that they are read from the result. */
function headingsOf(html: string): Heading[] {
  return [...html.matchAll(/<h([1-3])(?: id="([^"]*)")?[^>]*>(.*?)<\/h\1>/gs)].map(
    ([, level = "", id = "", inner = ""]) => ({ level: Number(level), id, text: textOf(inner) }),
  );
}

/** Text of HTML, on one line. */
export function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, " ")
    .replace(/&#8203;/g, "")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();
}
