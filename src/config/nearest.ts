/** Longer names are cut for the comparison, so that its cost is bounded whatever comes in. */
const maxLength = 100;

/**
 * The known name that takes the fewest edits (a character added, left out, changed, or swapped with
 * its neighbour) to make of `name`; capitals don't count. The first of equals. Undefined only when
 * nothing is known.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = name.slice(0, maxLength).toLowerCase();
  let best: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    const edits = editDistance(wanted, candidate.slice(0, maxLength).toLowerCase());
    if (best === undefined || edits < best.edits) {
      best = { name: candidate, edits };
    }
  }
  return best?.name;
}

/** Optimal string alignment distance, row by row; a row holds the edits to each prefix of `b`. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, at(previous, j) + 1, at(row, j - 1) + 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(at(row, j), at(beforePrevious, j - 2) + 1);
      }
    }
    [beforePrevious, previous] = [previous, row];
  }
  return at(previous, b.length);
}

/** Every index that is asked for exists; this says so to the compiler. */
function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
