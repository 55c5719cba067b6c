import type { Message, Text } from "../messages/message.ts";

/** Messages about the records of a kind. */
export interface KindTexts {
  /** Names a record in a sentence, such as `the mount "films"`. */
  readonly named: (key: string) => Message;
  /** A record that the caller may not read, in a sentence. */
  readonly another: () => Message;
  readonly unknown: (key: string, hint: Text) => Message;
  readonly exists: (key: string) => Message;
  readonly deleted: (key: string) => Message;
  /** @param expected etag of the request. */
  readonly changed: (key: string, revision: number, expected: string) => Message;
  /** @param field of the key. */
  readonly repeated: (field: string, key: string) => Message;
  readonly tooMany: (count: number, most: number) => Message;
  /** Note of a restored record. @param items fields of secrets whose values are lost. */
  readonly secretsLost: (items: string) => Message;
  /** Note of a record that is not restored. @param items fields of secrets that would reach another destination. */
  readonly restoreRedirects: (items: string) => Message;
  /** Note of an imported record. @param items fields of secrets that the document omits. */
  readonly secretsOmitted: (items: string) => Message;
}

/** Names another record in a sentence. @param mayRead whether the caller may read it. */
export function otherRecord(
  { named, another }: Pick<KindTexts, "named" | "another">,
  key: string,
  mayRead: boolean,
): Text {
  return mayRead ? named(key) : another();
}
