/** Mutant that may survive, with the reason. */
export interface Survivor {
  /** Text of its line, trimmed; with the line before it where the file has the line twice. */
  readonly code: string;
  /** Change in the notation of the run's output. */
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
      code: "const next = last.seq + 1;\nif (first !== undefined) return first;",
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
    {
      code: "const job = startPeriodic(write, { interval, onError: (error) => onError(error, 0) });",
      change: "onError(error, 0) → undefined",
      reason: "write reports its failures itself: nothing calls this.",
    },
  ],
  "src/gateway/rest/binding.ts": [
    {
      code: "if (!(error instanceof PathTemplateError)) throw error;",
      change: "throw error; → (nothing)",
      reason: "parsePathTemplate throws no other error.",
    },
  ],
  "src/gateway/rest/field.ts": [
    {
      code: "writable: true,",
      change: "true → false",
      reason: "A configurable property can be defined again.",
    },
    {
      code: "configurable: true,",
      change: "true → false",
      reason: "A writable property can be defined again with another value.",
    },
    {
      code: 'const numeric = field.fieldKind === "scalar" && integerRange(field.scalar)?.wide === true;',
      change:
        'field.fieldKind === "scalar" && integerRange(field.scalar)?.wide === true → integerRange(field.scalar)?.wide === true',
      reason: "A list or map is refused below: it has no presence.",
    },
  ],
  "src/gateway/rest/path.ts": [
    {
      code: "matchesSegment(segment, rest >= 0 && index > rest ? index + more : index, parts),",
      change: "rest >= 0 && index > rest → index > rest",
      reason: "Without ** the path has as many segments as the template: more is 0.",
    },
    {
      code: "matchesSegment(segment, rest >= 0 && index > rest ? index + more : index, parts),",
      change: "index > rest → (index) >= (rest)",
      reason: "The segment ** itself is accepted before.",
    },
  ],
  "src/gateway/rest/query.ts": [
    {
      code: "const keyType = { scalar: leaf.mapKey, enum: undefined, longAsString: false };",
      change: "false → true",
      reason: "The key is converted to text either way.",
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
  "src/access/authenticate.ts": [
    {
      code: "if (!request.stream || call === undefined || admission === undefined) return passed;",
      change: "!request.stream || call === undefined → !request.stream",
      reason: "Without a call there is no admission: the other half is for the type.",
    },
    {
      code: "if (reason === undefined || error === undefined) return;",
      change: "reason === undefined || error === undefined → reason === undefined",
      reason: "Without an error there is no reason: the other half is for the type.",
    },
    {
      code: "if (admission.until !== undefined && admission.until <= now)",
      change: "admission.until !== undefined && admission.until <= now → admission.until <= now",
      reason: "Nothing is less than undefined: the other half is for the type.",
    },
    {
      code: "return error instanceof ConnectError && error.code === Code.Unauthenticated;",
      change:
        "error instanceof ConnectError && error.code === Code.Unauthenticated → error.code === Code.Unauthenticated",
      reason: "Other errors have no such code: the other half is for the type.",
    },
  ],
  "src/access/ending.ts": [
    {
      code: "if (forgotten > 0) await registry.reread();",
      change: "forgotten > 0 → (forgotten) >= (0)",
      reason: "Reading again what has not changed changes nothing.",
    },
    {
      code: "if (forgotten === STEP) await pauseFor(PAUSE, signal);",
      change: "await pauseFor(PAUSE, signal); → (nothing)",
      reason: "The pause lets other writers in; the result is the same.",
    },
    {
      code: "if (tokens.length === 0) return 0;",
      change: "0 → undefined",
      reason: "The caller compares it with two numbers: neither is equal or less.",
    },
  ],
  "src/messages/page.ts": [
    {
      code: "if ((items.length === limit || bytes >= PAGE_BYTES) && last !== undefined)",
      change:
        "(items.length === limit || bytes >= PAGE_BYTES) && last !== undefined → items.length === limit || bytes >= PAGE_BYTES",
      reason: "A full page has a last item: the other half is for the type.",
    },
  ],
  "src/access/principal.ts": [
    {
      code: "registry.principals().toSorted((one, other) => (one.name < other.name ? -1 : 1)),",
      change: "one.name < other.name → (one.name) <= (other.name)",
      reason: "Names are unique.",
    },
  ],
  "src/access/query.ts": [
    {
      code: "const isWhole = !isSame && (isAnew || version < after || after < (await readForgotten(db)));",
      change: "version < after → (version) <= (after)",
      reason: "Equal versions are the case isSame, or read anew.",
    },
    {
      code: "for (let at = 0; at < tokenIds.length; at += PAGE) {",
      change: "at < tokenIds.length → (at) <= (tokenIds.length)",
      reason: "A query without ids has no rows.",
    },
  ],
  "src/access/registry.ts": [
    {
      code: "if (news.isWhole) for (const map of [principals, tokens, inUse]) map.clear();",
      change: "[principals, tokens, inUse] → [principals, tokens]",
      reason: "A use without its token is never found: it is only memory.",
    },
  ],
  "src/settings/commit.ts": [
    {
      code: "if (before === undefined || after === undefined) return before === after;",
      change: "before === after → undefined",
      reason: "Of two missing items, the second definition is missing like the first.",
    },
    {
      code: "return before.definition === after.definition && isDescribedAs(before, after);",
      change: "before.definition === after.definition && isDescribedAs(before, after) → undefined",
      reason: "An equal definition is written again, with the same text.",
    },
  ],
  "src/settings/compaction.ts": [
    {
      code: "while (!signal.aborted && (await forget(tooMany, STEP)) === STEP) await pauseFor(PAUSE, signal);",
      change: "await pauseFor(PAUSE, signal); → (nothing)",
      reason: "The pause lets other writers in; the result is the same.",
    },
  ],
  "src/settings/engine.ts": [
    {
      code: "const news = committed.filter(({ commit }) => commit.revision > snapshot.revision);",
      change: "commit.revision > snapshot.revision → (commit.revision) >= (snapshot.revision)",
      reason: "Applying the commit of this revision again gives the same state.",
    },
    {
      code: "if (reason.length <= MAX_REASON) return;",
      change: "reason.length <= MAX_REASON → (reason.length) < (MAX_REASON)",
      reason: "A text of so many code units does not have more characters.",
    },
  ],
  "src/settings/history.ts": [
    {
      code: "return (from <= to ? forward : forward.map(reverse)).filter(",
      change: "from <= to → (from) < (to)",
      reason: "Between a revision and itself there are no changes.",
    },
    {
      code: "if (revision > 0 && revision < oldest) throw forgotten(revision, oldest);",
      change: "revision < oldest → (revision) <= (oldest)",
      reason: "The oldest revision has been found above.",
    },
  ],
  "src/settings/stale.ts": [
    {
      code: "if (seenRevision === undefined || item === undefined) return false;",
      change: "seenRevision === undefined || item === undefined → item === undefined",
      reason: "No revision is greater than undefined: the other half is for the type.",
    },
  ],
  "src/settings/writer.ts": [
    {
      code: "} while (waiting.length > before && waiting.length < GROUP);",
      change: "waiting.length > before && waiting.length < GROUP → waiting.length > before",
      reason: "A longer wait changes no commit: each takes one group.",
    },
    {
      code: "} while (waiting.length > before && waiting.length < GROUP);",
      change: "waiting.length < GROUP → (waiting.length) <= (GROUP)",
      reason: "A longer wait changes no commit: each takes one group.",
    },
  ],
  "src/sites/adopt.ts": [
    {
      code: "if (ticks.isDue()) await ticks.next();",
      change: "await ticks.next(); → (nothing)",
      reason: "The tick lets other requests in; the result is the same.",
    },
  ],
  "src/sites/push.ts": [
    {
      code: "if (!(error instanceof SiteFailure)) throw error;",
      change: "throw error; → (nothing)",
      reason: "Other errors have no kind, and are thrown below: this line is for the type.",
    },
  ],
  "src/access/token.ts": [
    {
      code: "return time === undefined ? undefined : (token) => byAge(last, token) < 0;",
      change: "byAge(last, token) < 0 → (byAge(last, token)) <= (0)",
      reason: "Two positions are never equal: ids are unique.",
    },
  ],
};
