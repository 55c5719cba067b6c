/** A mutant that survives, and why that is right. */
export interface Survivor {
  /** The text of its line, trimmed. */
  readonly code: string;
  /** The change, as the run prints it. */
  readonly change: string;
  readonly reason: string;
}

/** Mutants that no test can kill, by file. */
export const survivors: Readonly<Record<string, readonly Survivor[]>> = {
  "src/audit/chain.ts": [
    {
      code: "if (names.length === 1 && first !== undefined) return first.slice(0, MAX_SUBJECT);",
      change: "names.length === 1 && first !== undefined → names.length === 1",
      reason: "An array of one has a first element: the other half is for the type.",
    },
    {
      code: "if (names.length === 1 && first !== undefined) return first.slice(0, MAX_SUBJECT);",
      change: "first !== undefined → (first) === (undefined)",
      reason: "The loop below gives the same for one name, more slowly.",
    },
    {
      code: 'if (text.length <= most && !text.includes("\\0") && text.isWellFormed()) return text;',
      change: "text.length <= most → (text.length) < (most)",
      reason: "Cutting a text at its own length changes nothing.",
    },
    {
      code: "if (first !== undefined) return first;",
      change: "first → undefined",
      reason: "end() reports the same problem of the floor.",
    },
    {
      code: "if (checked || checkpoint === undefined) return undefined;",
      change: "checked || checkpoint === undefined → checked",
      reason: "Without a checkpoint it is checked from the start: the other half is for the type.",
    },
    {
      code: "return checkpoint.seq > last.seq",
      change: "checkpoint.seq > last.seq → (checkpoint.seq) >= (last.seq)",
      reason: "A checkpoint of the last row has been checked.",
    },
  ],
  "src/audit/recorder.ts": [
    {
      code: "if (surplus <= 0) return rows;",
      change: "surplus <= 0 → (surplus) < (0)",
      reason: "Without a surplus the filter below keeps all rows.",
    },
  ],
  "src/gateway/rest/value.ts": [
    {
      code: 'const number = typeof value === "string" && /^-?\\d{1,10}$/.test(value) ? Number(value) : value;',
      change:
        'typeof value === "string" && /^-?\\d{1,10}$/.test(value) → /^-?\\d{1,10}$/.test(value)',
      reason: "Number() leaves a number as it is.",
    },
    {
      code: 'if (typeof number !== "number" || (number | 0) !== number) return undefined;',
      change: 'typeof number !== "number" || (number | 0) !== number → (number | 0) !== number',
      reason: "A text never equals a number: the other half is for the type.",
    },
    {
      code: "if (scalar !== ScalarType.FLOAT || !(Math.abs(Number(value)) > LARGEST_FLOAT)) return value;",
      change:
        "Math.abs(Number(value)) > LARGEST_FLOAT → (Math.abs(Number(value))) >= (LARGEST_FLOAT)",
      reason: "The largest float rounds to itself.",
    },
    {
      code: "const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();",
      change: "2000 + (year % 400) → (2000) - (year % 400)",
      reason: "Leap years are the same before and after a multiple of 400.",
    },
    {
      code: "const kept = single && Math.abs(value) > LARGEST_FLOAT ? Math.fround(value) : value;",
      change: "Math.abs(value) > LARGEST_FLOAT → (Math.abs(value)) >= (LARGEST_FLOAT)",
      reason: "The largest float rounds to itself.",
    },
  ],
};
