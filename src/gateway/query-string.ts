import { badRequest, quote } from "./fault.ts";

/** One parameter of a query: its name unescaped, its value as it came. */
export interface QueryPair {
  readonly name: string;
  readonly raw: string;
}

/** The parameters of a query in their order. */
export type Query = readonly QueryPair[];

/** Most parameters in one query, and most elements in one list. */
export const MAX_QUERY_ITEMS = 1_000;

const EMPTY: Query = [];

/**
 * Cuts a query string (without its question mark) at `&`. `+` and `%20` are both a space.
 *
 * @throws INVALID_ARGUMENT for more than MAX_QUERY_ITEMS parameters or a broken escape in a name.
 */
export function parseQuery(text: string): Query {
  if (text === "") return EMPTY;
  const parts = text.split("&", MAX_QUERY_ITEMS + 1);
  if (parts.length > MAX_QUERY_ITEMS) {
    throw badRequest(`the query has more than ${MAX_QUERY_ITEMS} parameters`);
  }
  return parts.filter((part) => part !== "").map(parsePair);
}

/** Whether a parameter is there with a value that is not empty. */
export function hasParameter(query: Query, name: string): boolean {
  return query.some((pair) => pair.name === name && pair.raw !== "");
}

/**
 * The value of a parameter, unescaped.
 *
 * @throws INVALID_ARGUMENT that names the parameter when an escape is broken.
 */
export function queryValue(pair: QueryPair): string {
  const value = unescapeQuery(pair.raw);
  if (value === undefined) {
    throw badRequest(
      `query parameter ${quote(pair.name)}: broken % escape in ${quote(pair.raw)}; ` +
        "write a percent sign as %25",
    );
  }
  return value;
}

function parsePair(part: string): QueryPair {
  const equals = part.indexOf("=");
  const rawName = equals < 0 ? part : part.slice(0, equals);
  const name = unescapeQuery(rawName);
  if (name === undefined) {
    throw badRequest(`the query has a parameter name with a broken % escape: ${quote(rawName)}`);
  }
  return { name, raw: equals < 0 ? "" : part.slice(equals + 1) };
}

function unescapeQuery(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}
