import type { ArchiveDocument } from "../archive/document.ts";
import { createTicks } from "../ticks.ts";

/**
 * Text of an archive: one line for each entry. It is written in ticks of the event loop, because the
 * text of a whole site has many MiB.
 */
export async function archiveBytes(document: ArchiveDocument): Promise<Buffer> {
  const ticks = createTicks();
  const pieces: Buffer[] = [];
  const { counts } = document;
  let separator = "{\n";
  for (const [name, value] of Object.entries(document)) {
    const start = `${separator}${JSON.stringify(name)}: `;
    separator = ",\n";
    if (!Array.isArray(value) || !Object.hasOwn(counts, name)) {
      pieces.push(Buffer.from(start + JSON.stringify(value)));
      continue;
    }
    pieces.push(Buffer.from(`${start}[`));
    for (const [at, entry] of value.entries()) {
      if (ticks.isDue()) await ticks.next();
      pieces.push(Buffer.from(`${at === 0 ? "" : ","}\n${JSON.stringify(entry)}`));
    }
    pieces.push(Buffer.from("\n]"));
  }
  pieces.push(Buffer.from("\n}\n"));
  return Buffer.concat(pieces);
}
