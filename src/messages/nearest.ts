import { nearest } from "../suggestion.ts";
import { message, type Text } from "./message.ts";

/**
 * ` Did you mean A, B or C?`, with a leading space; empty if no other candidate is similar. The word
 * itself is a candidate if its record ends during the call.
 */
export function didYouMean(word: string, candidates: Iterable<string>): Text {
  const names = nearest(word, candidates)
    .filter((name) => name !== word)
    .map((name) => `"${name}"`);
  const last = names.pop();
  if (last === undefined) return "";
  return message("DID_YOU_MEAN", {
    names: names.length === 0 ? last : `${names.join(", ")} or ${last}`,
  });
}
