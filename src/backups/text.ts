import type { ArchiveDocument } from "../archive/document.ts";
import { createTicks, LONGEST_OF_ARCHIVE } from "../ticks.ts";

/** Characters of a piece of the text: many small pieces take long to join. */
const PIECE = 64 * 1024;

/**
 * Text of an archive: one line for each entry. It is written in ticks of the event loop, because the
 * text of a whole site has many MiB.
 */
export async function archiveBytes(document: ArchiveDocument): Promise<Buffer> {
  const ticks = createTicks(undefined, LONGEST_OF_ARCHIVE);
  const pieces: Buffer[] = [];
  let piece = "";
  const write = (text: string): void => {
    piece += text;
    if (piece.length < PIECE) return;
    pieces.push(Buffer.from(piece));
    piece = "";
  };
  const { counts } = document;
  let separator = "{\n";
  for (const [name, value] of Object.entries(document)) {
    write(`${separator}${JSON.stringify(name)}: `);
    separator = ",\n";
    if (!Array.isArray(value) || !Object.hasOwn(counts, name)) {
      write(JSON.stringify(value));
      continue;
    }
    write("[");
    for (const [at, entry] of value.entries()) {
      if (ticks.isDue()) await ticks.next();
      write(`${at === 0 ? "" : ","}\n${JSON.stringify(entry)}`);
    }
    write("\n]");
  }
  pieces.push(Buffer.from(`${piece}\n}\n`));
  return Buffer.concat(pieces);
}
