/** Program header of a segment that is loaded (elf(5), PT_LOAD). */
const LOADED = 1;

/**
 * A 64-bit ELF program without what only debuggers read: section headers, symbols and debugging data
 * lie behind the last loaded segment. The loader reads program headers alone (elf(5)), so that this
 * works for every processor, without its binutils.
 *
 * @throws Error for another format.
 */
export function stripElf(file: Buffer): Buffer {
  const isElf64 = file.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
  if (!isElf64) throw new Error("not a little-endian 64-bit ELF program");
  const headers = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  const count = file.readUInt16LE(56);
  let end = headers + size * count;
  for (let at = headers; at < headers + size * count; at += size)
    if (file.readUInt32LE(at) === LOADED) {
      const offset = Number(file.readBigUInt64LE(at + 8));
      end = Math.max(end, offset + Number(file.readBigUInt64LE(at + 32)));
    }
  const stripped = Buffer.from(file.subarray(0, end));
  // No section headers: e_shoff, e_shnum and e_shstrndx.
  stripped.writeBigUInt64LE(0n, 40);
  stripped.writeUInt16LE(0, 60);
  stripped.writeUInt16LE(0, 62);
  return stripped;
}
