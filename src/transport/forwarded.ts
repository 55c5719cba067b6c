/** A name, or a value that needs no quotes (RFC 9110, section 5.6.2). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const PAIR = `(${TOKEN})=(${TOKEN}|${QUOTED})`;
const SPACE = "[ \\t]*";
const ELEMENT = new RegExp(`^${SPACE}${PAIR}(?:${SPACE};${SPACE}${PAIR})*${SPACE}$`);
const PAIRS = new RegExp(PAIR, "g");

/** What one proxy says of whoever has asked it; undefined: nothing, or two things. */
export interface ForwardedElement {
  /** Such as `192.0.2.1:80`, `[2001:db8::1]`, `unknown` or `_hidden`. */
  readonly node: string | undefined;
  /** The scheme and the host that it was asked for. */
  readonly proto: string | undefined;
  readonly host: string | undefined;
}

/**
 * What each proxy says, the last one first, as in the header `Forwarded` (RFC 7239). Read from the
 * right: what the first ones have sent may be anything, quotes that never end among it, and hides
 * nothing of what stands behind it.
 *
 * @returns elements; ends with one that says nothing of the client, or before what is no element.
 */
export function* forwardedElements(header: string): Generator<ForwardedElement> {
  let end = header.length;
  while (end >= 0) {
    const start = startOfElement(header, end);
    if (start === undefined) return;
    const element = readElement(header.slice(start, end));
    yield element;
    if (element.node === undefined) return;
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

/** Of each member exactly one: who says two things says nothing. */
function readElement(text: string): ForwardedElement {
  const pairs = [...text.matchAll(PAIRS)];
  const member = (wanted: string): string | undefined => {
    const found = pairs.filter(([, name]) => name?.toLowerCase() === wanted);
    const [[, , value = ""] = []] = found;
    if (found.length !== 1) return undefined;
    return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  };
  return { node: member("for"), proto: member("proto"), host: member("host") };
}

/** The addresses of `X-Forwarded-For`, the last one first. */
export function* xForwardedFor(header: string): Generator<string> {
  let end = header.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : header.lastIndexOf(",", end - 1);
    yield header.slice(comma + 1, end).trim();
    end = comma;
  }
}
