import { ROOT } from "../access/grant.ts";
import type { Archive } from "../archive/archive.ts";
import type { Imported, ImportOptions } from "../archive/import.ts";
import type { ArchiveCaller } from "../archive/part.ts";
import { StoreError } from "../database/error.ts";
import { readBoundedFile } from "../files/bounded-file.ts";
import { type WatchTimes, watchContent } from "../files/file-watch.ts";
import { ServiceError } from "../messages/error.ts";
import { Message } from "../messages/message.ts";
import type { Declared, DeclaredNames } from "./declared.ts";
import { type DeclaringFile, type FileForm, nameOfFile } from "./form.ts";
import { type Problem, problemText, sortedProblems, WHOLE_FILE } from "./problem.ts";
import { documentOf, loadStateFile, type ReadDeps, type StateFile } from "./read.ts";

export interface FollowDeps extends Pick<ReadDeps, "env" | "shapeOf"> {
  readonly file: DeclaringFile;
  readonly archive: Pick<Archive, "import" | "parts">;
  readonly declared: Declared;
  readonly sites: SitesOfFile;
  /** Called with the names of the declared records after the file was applied. */
  readonly onApplied: (names: DeclaredNames) => void;
  /** Called with the problems of an invalid file, after which everything stays unchanged. */
  readonly onProblems: (lines: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
  readonly times?: WatchTimes;
}

/** Names of the existing sites. */
interface SitesOfFile {
  names(): { readonly names: readonly string[] };
  /** @returns a function that ends the calls. */
  onChange(listener: () => void): () => void;
}

/**
 * Applies a file that declares records, now and after each change: those of the ledger as one
 * revision. A file that names an unknown site is applied when the site exists.
 *
 * @returns a function that ends this. @throws Error with the problems of the file, one line each:
 *   `path:line:column: reason`.
 */
export async function followFile(deps: FollowDeps): Promise<() => Promise<void>> {
  const { file, archive, sites } = deps;
  const { form, path } = file;
  const load = (): StateFile =>
    loadStateFile({ ...deps, form, path, readFile: readBoundedFile, parts: archive.parts });
  const linesOf = (problems: readonly Problem[]): readonly string[] =>
    problems.map((problem) => problemText(path, problem));
  /** Whether the last content is valid once a site exists, and how often it was tried again. */
  let isWaiting = false;
  let attempts = 0;
  const apply = async (content: StateFile): Promise<readonly Problem[]> => {
    const problems = await applyFile(content, deps);
    isWaiting = problems.length > 0 && problems.every(({ isUnknownSite }) => isUnknownSite);
    if (problems.length === 0) deps.onApplied(namesOf(content));
    return problems;
  };
  const first = load();
  const problems = await apply(first);
  if (!problems.every(({ isUnknownSite }) => isUnknownSite))
    throw new Error(`the ${form.title} is invalid\n${linesOf(problems).join("\n")}`);
  // Sites are created while the service runs: the file is applied when it names no unknown site.
  if (problems.length > 0) deps.onProblems(linesOf(problems));
  return watchContent({
    path,
    first,
    load,
    keyOf: ({ content }) => `${content} ${attempts}`,
    onChange: async (content) => {
      const found = await apply(content);
      if (found.length > 0) deps.onProblems(linesOf(found));
    },
    subscribe: (listener) =>
      onSiteNames(sites, () => {
        if (!isWaiting) return;
        attempts += 1;
        listener();
      }),
    onError: deps.onError,
    times: deps.times,
  });
}

/** Applies the content of a file, or only checks it if it has problems. @returns the problems. */
async function applyFile(
  content: StateFile,
  { file, archive, declared }: FollowDeps,
): Promise<readonly Problem[]> {
  const name = nameOfFile(file);
  const run = (dryRun: boolean): Promise<Imported> =>
    archive.import(documentOf(content), callerOf(file.form), {
      ...OPTIONS,
      declared: { file: name },
      dryRun,
    });
  try {
    if (content.problems.length > 0) await run(true);
    else await declared.replace(name, namesOf(content), () => run(false));
    return content.problems;
  } catch (error) {
    return sortedProblems([...content.problems, ...problemsOf(error, content)]);
  }
}

/** Problems of a file in the error of its import. @throws the error, if it is no fault of the file. */
export function problemsOf(error: unknown, content: StateFile): readonly Problem[] {
  // An unavailable database is no problem of the file, which is applied later.
  if (!(error instanceof ServiceError) || isUnavailable(error)) throw error;
  const { violations } = error;
  if (violations.length === 0) return [{ ...WHOLE_FILE, key: "", reason: error.text }];
  return violations.flatMap(({ field, description }) => {
    const problem = content.problemAt(field, description);
    if (problem === undefined) return [];
    const isUnknownSite =
      description instanceof Message && description.problem.id === "SITE_UNKNOWN";
    return [{ ...problem, isUnknownSite }];
  });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreError) return true;
  return error instanceof Error && error.cause !== undefined && isUnavailable(error.cause);
}

/** Choices of an import by a file of the deployment: what it declares is applied as it stands. */
const OPTIONS: Omit<ImportOptions, "dryRun"> = {
  passphrase: "",
  only: [],
  skipInvalid: false,
  replaceSecrets: true,
  includeServerOwn: true,
  allowShared: true,
  siteNames: new Map(),
  sites: undefined,
  pauseSites: false,
};

/** Origin of changes by a file, in the history. */
function callerOf({ actor, reason }: FileForm): ArchiveCaller {
  const origin = {
    actor,
    transport: "file",
    method: "",
    requestId: "",
    peer: "",
    reason: String(reason),
  };
  return { grant: ROOT, origin };
}

export function namesOf({ sections }: Pick<StateFile, "sections">): DeclaredNames {
  return new Map([...sections].map(([part, entries]) => [part, entries.map(({ name }) => name)]));
}

/** Calls the listener when a site is created, renamed or removed. @returns a function that ends this. */
function onSiteNames(sites: SitesOfFile, listener: () => void): () => void {
  let before = sites.names().names.join(" ");
  return sites.onChange(() => {
    const now = sites.names().names.join(" ");
    if (now === before) return;
    before = now;
    listener();
  });
}
