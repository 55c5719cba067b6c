/** Releases the memory of unused bytes: they are empty afterwards. */
export function release(piece: Buffer): void {
  const { buffer } = piece;
  // Small pieces share their memory with others.
  if (piece.length > 0 && piece.length === buffer.byteLength && buffer instanceof ArrayBuffer)
    buffer.transfer(0);
}
