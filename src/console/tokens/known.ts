import { accessService } from "../api/rights.ts";

/** Everybody who may call, and with what. */
export type Known = Awaited<ReturnType<typeof readKnown>>;

export async function readKnown(signal: AbortSignal) {
  const [{ principals }, { tokens }] = await Promise.all([
    accessService.listPrincipals({}, { signal }),
    accessService.listTokens({}, { signal }),
  ]);
  return { principals, tokens };
}
