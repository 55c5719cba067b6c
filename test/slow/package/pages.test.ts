import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { patternOf, stepsOf } from "../docs/steps.ts";
import { LONGEST, PREPARING, packGateway, ROOT, startServer } from "./gateway-package.ts";

// The pages of the gateway from an empty folder with the packed file: their files are written, their
// commands run, and the shown output is compared. Each page continues the folder of the README.

const SOURCE = join(ROOT, "src/gateway");
const PAGES = globSync("docs/*.md", { cwd: SOURCE }).toSorted();

const EXAMPLE = join(ROOT, "examples/gateway");

let out: string;
let packed: string;
let library: string;

beforeAll(() => {
  const { folder, archive } = packGateway();
  out = folder;
  packed = archive;
  library = join(out, "library");
  mkdirSync(library);
  cpSync(archive, join(library, basename(archive)));
}, PREPARING);

afterAll(() => rmSync(out, { recursive: true, force: true }));

/** A fenced block, with the file that the text before it names. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly file: string | undefined;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/(.*)\n\n```(\w+)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, before = "", language = "", text = ""] = match;
    const [file] = [...before.matchAll(/`([\w./-]+\.(?:ts|proto|yaml))`/g)]
      .map(([, name]) => name)
      .slice(-1);
    return { language, text, file: before.endsWith(":") ? file : undefined };
  });
}

/** Does what a page says, in a folder. */
async function follow(page: string, place: string): Promise<void> {
  let count = 0;
  /** Addresses of servers by those that the page shows. */
  const addresses = new Map<string, string>();
  const actual = (text: string): string =>
    [...addresses].reduce((all, [shown, url]) => all.replaceAll(shown, url), text);
  for (const { language, text, file } of blocksOf(page)) {
    if (language === "sh") shell(place, `set -eu\n${text}`);
    else if (language === "console") {
      for (const { command, output } of stepsOf(`\`\`\`console\n${text}\`\`\``)) {
        if (!command.endsWith(" &")) {
          expect(shell(place, actual(command)), command).toMatch(patternOf(output));
          continue;
        }
        const [program = "", ...args] = actual(command.slice(0, -2)).split(" ");
        addresses.set(output, await startServer(place, program, ...args));
      }
    } else {
      const path = join(place, file ?? `snippet-${++count}.ts`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      // A snippet without a name has to be valid at least.
      if (file === undefined) shell(place, `node ${basename(path)}`);
    }
  }
}

function shell(place: string, command: string): string {
  return execFileSync("bash", ["-c", command], {
    cwd: place,
    encoding: "utf8",
    timeout: LONGEST,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

describe("the pages", () => {
  test(
    "begin with the README, whose library is the example",
    async () => {
      const readme = readFileSync(join(SOURCE, "README.md"), "utf8");
      await follow(readme, library);
      for (const file of globSync("**/*.{ts,yaml,proto}", { cwd: EXAMPLE }))
        if (!/^(?:gen|node_modules)\//.test(file))
          expect(readFileSync(join(library, file), "utf8"), file).toBe(
            readFileSync(join(EXAMPLE, file), "utf8"),
          );
      const linked = [...readme.matchAll(/\]\((docs\/[\w-]+\.md)\)/g)].map(([, page]) => page);
      expect([...new Set(linked)].sort()).toEqual(PAGES);
    },
    PREPARING,
  );

  test.each(PAGES)(
    "%s",
    async (page) => {
      const place = join(out, basename(page, ".md"));
      cpSync(library, place, { recursive: true, verbatimSymlinks: true });
      await follow(readFileSync(join(SOURCE, page), "utf8"), place);
    },
    PREPARING,
  );

  test(
    "of the example in the sources, in a copy of its folder",
    async () => {
      const place = join(out, "example");
      const isSource = (path: string): boolean => !/\/(?:gen|node_modules)$/.test(path);
      cpSync(EXAMPLE, place, { recursive: true, filter: isSource });
      cpSync(packed, join(place, basename(packed)));
      await follow(readFileSync(join(EXAMPLE, "README.md"), "utf8"), place);
    },
    PREPARING,
  );

  test("explain every option of the gateway", () => {
    const page = readFileSync(join(SOURCE, "docs/options.md"), "utf8");
    const named = new Set(
      [...page.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = ""]) =>
        [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
      ),
    );
    for (const [file, name] of [
      ["options", "Served"],
      ["options", "GatewayOptions"],
      ["gateway", "RestGatewayOptions"],
      ["fetch", "RestHandlerOptions"],
      ["rest/reading", "ReadingOptions"],
    ]) {
      const text = readFileSync(join(SOURCE, `${file}.ts`), "utf8");
      const start = text.indexOf(`export interface ${name} `);
      const body = text.slice(start, text.indexOf("\n}", start));
      const members = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, member]) => member);
      expect(members.length, name).toBeGreaterThan(0);
      expect(members.filter((member) => !named.has(member))).toEqual([]);
    }
  });
});
