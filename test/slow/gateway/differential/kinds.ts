import type { Generated } from "./request.ts";

/** A request whose outcome differs from what both peers agree on. */
export interface Difference {
  readonly request: Generated;
  readonly mine: string;
  readonly theirs: string;
}

/** The kinds of differences.md by name, the first that fits. */
const KINDS: Readonly<Record<string, (difference: Difference) => boolean>> = {
  "empty-segment": ({ request, mine }) =>
    mine === "refused 404" && /\/(?:\/|$|:)/.test(request.target.replace(/\?.*$/, "")),
  "float-digits": ({ mine, theirs }) => mine !== theirs && digits(mine) === digits(theirs),
  "any-without-type": ({ request, mine }) =>
    mine === "refused 400" && (request.body ?? "").includes('"an":{"a":"x"}'),
  "empty-value": ({ request, mine }) =>
    !request.body && request.target.startsWith("/v1/body/va") && / -> 200 /.test(mine),
  "unknown-enum": ({ request, mine }) =>
    mine === "refused 400" && /"(?:e|re)":\[?"RED"/.test(request.body ?? ""),
};

/** The largest float, written with the digits that a float or a double needs. */
function digits(outcome: string): string {
  return outcome.replaceAll("3.4028234663852886e+38", "3.4028235e+38");
}

/** The kind of a difference; undefined: it is a fault. */
export function kindOf(difference: Difference): string | undefined {
  return Object.entries(KINDS).find(([, fits]) => fits(difference))?.[0];
}
