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

/** Path in the site of a link in Markdown; undefined: its goal is not in the site. */
export type Resolve = (href: string) => string | undefined;

/**
 * HTML of a page.
 *
 * @param path of the page in the site, to which its links are relative.
 * @param resolve for links of a file to others. A link without a goal in the site becomes text.
 */
export function renderMarkdown(
  text: string,
  path: string,
  resolve: Resolve = (href) => href,
): Rendered {
  const addressOf = (href: string): string | undefined => {
    const goal = resolve(href);
    if (goal?.startsWith("/")) return BASE + goal;
    return goal?.startsWith("./") ? BASE + posix.join(posix.dirname(`${path}x`), goal) : goal;
  };
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
        const address = addressOf(href);
        if (address === undefined) return inner;
        const rel = /^[a-z]+:/.test(address) ? ' rel="noreferrer"' : "";
        return `<a href="${escapeHtml(address)}"${rel}>${inner}</a>`;
      },
      image: ({ href, text: alt }: Tokens.Image): string =>
        `<img src="${escapeHtml(addressOf(href) ?? "")}" alt="${escapeHtml(alt)}">`,
    },
  });
  const html = marked
    .parse(text, { async: false })
    .replaceAll("<table>", '<div class="table"><table>')
    .replaceAll("</table>", "</table></div>");
  return { html, headings: headingsOf(html) };
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
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();
}
