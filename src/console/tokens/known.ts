import { allPrincipals, allTokens } from "../api/access-list.ts";

/** Everybody who may call, and with what. */
export type Known = Awaited<ReturnType<typeof readKnown>>;

export async function readKnown(signal: AbortSignal) {
  const [principals, tokens] = await Promise.all([allPrincipals(signal), allTokens({}, signal)]);
  return { principals, tokens };
}
