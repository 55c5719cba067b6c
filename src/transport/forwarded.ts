/** A name, or a value that needs no quotes (RFC 9110, section 5.6.2). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const PAIR = `(${TOKEN})=(${TOKEN}|${QUOTED})`;
const SPACE = "[ \\t]*";
const ELEMENT = new RegExp(`^${SPACE}${PAIR}(?:${SPACE};${SPACE}${PAIR})*${SPACE}$`);
const PAIRS = new RegExp(PAIR, "g");

/** Element of one proxy about its client. Undefined members: absent, or given more than once. */
export interface ForwardedElement {
  /** Such as `192.0.2.1:80`, `[2001:db8::1]`, `unknown` or `_hidden`. */
  readonly node: string | undefined;
  /** Requested scheme and host. */
  readonly proto: string | undefined;
  readonly host: string | undefined;
}

/**
 * Elements of the header `Forwarded` (RFC 7239), from the last one. They are parsed from the right:
 * the first elements may be forged, including unterminated quotes, and must not hide later ones.
 *
 * @returns elements; ends with one without a client, or before an invalid one.
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

/** Start of the element that ends at a position: after a comma outside of quotes. */
function startOfElement(header: string, end: number): number | undefined {
  for (let comma = end; comma >= 0; ) {
    comma = comma === 0 ? -1 : header.lastIndexOf(",", comma - 1);
    if (ELEMENT.test(header.slice(comma + 1, end))) return comma + 1;
  }
  return undefined;
}

/** Parses an element, whose members must be unique. */
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
