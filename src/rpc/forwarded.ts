/** A name, or a value that needs no quotes (RFC 9110, section 5.6.2). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const PAIR = `(${TOKEN})=(${TOKEN}|${QUOTED})`;
const SPACE = "[ \\t]*";
const ELEMENT = new RegExp(`^${SPACE}${PAIR}(?:${SPACE};${SPACE}${PAIR})*${SPACE}$`);
const PAIRS = new RegExp(PAIR, "g");

/**
 * What each proxy says of whoever has asked it, the last one first, as in the header `Forwarded`
 * (RFC 7239). Read from the right: what the first ones have sent may be anything, quotes that never
 * end among it, and hides nothing of what stands behind it.
 *
 * @returns nodes such as `192.0.2.1:80`, `[2001:db8::1]`, `unknown` or `_hidden`; ends with undefined
 *   at what is no element, or says nothing of the client.
 */
export function* forwardedFor(header: string): Generator<string | undefined> {
  let end = header.length;
  while (end >= 0) {
    const start = startOfElement(header, end);
    const node = start === undefined ? undefined : nodeOf(header.slice(start, end));
    yield node;
    if (start === undefined || node === undefined) return;
    end = start - 1;
  }
}

/** Where the element begins that ends at a place: after a comma that no quotes are around. */
function startOfElement(header: string, end: number): number | undefined {
  for (let comma = end; comma >= 0; ) {
    comma = comma === 0 ? -1 : header.lastIndexOf(",", comma - 1);
    if (ELEMENT.test(header.slice(comma + 1, end))) return comma + 1;
  }
  return undefined;
}

/** Exactly one `for`: who says two things says nothing. */
function nodeOf(element: string): string | undefined {
  const nodes = [...element.matchAll(PAIRS)]
    .filter(([, name]) => name?.toLowerCase() === "for")
    .map(([, , value = ""]) => value);
  const [node] = nodes;
  if (node === undefined || nodes.length > 1) return undefined;
  return node.startsWith('"') ? node.slice(1, -1).replace(/\\(.)/g, "$1") : node;
}

/** The same of `X-Forwarded-For`: addresses, separated by commas. */
export function* xForwardedFor(header: string): Generator<string | undefined> {
  let end = header.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : header.lastIndexOf(",", end - 1);
    yield header.slice(comma + 1, end).trim();
    end = comma;
  }
}
