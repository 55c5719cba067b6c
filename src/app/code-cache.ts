import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { constants, Script } from "node:vm";
import { crc32 } from "node:zlib";

/**
 * Loads the files of a package with the code that earlier starts have compiled. Each is a function of
 * CommonJS: `(function(exports,require,module,__filename,__dirname){…})`.
 */
export interface CodeLoader {
  /** The exports of a file of the package. */
  load(name: string): unknown;
  /** Stores the compiled code of files that had none. Errors are ignored: there is no cache then. */
  save(): void;
}

export interface CodeLoaderOptions {
  /** Folder of the files. Their text is ASCII. */
  readonly folder: string;
  /** Folder of the compiled code, for this version of Node; undefined: none is kept. */
  readonly cache: string | undefined;
}

type Require = (id: string) => unknown;

interface Module {
  exports: unknown;
}

type Run = (
  exports: unknown,
  require: Require,
  module: Module,
  __filename: string,
  __dirname: string,
) => void;

/** Bytes of the checksum before the compiled code. */
const CHECKSUM = 4;

/**
 * Creates a loader. The compile cache of Node holds what is compiled when a file is loaded. Functions
 * are compiled at their first call, 1,900 of them in a start, a quarter of its processor time: this
 * cache is written after the start, and holds them
 * (docs/decisions/0115-code-cache-with-the-functions-of-a-start.md).
 */
export function createCodeLoader({ folder, cache }: CodeLoaderOptions): CodeLoader {
  const modules = new Map<string, Module>();
  /** Scripts without a cache, by the file of their compiled code. */
  const compiled = new Map<string, Script>();

  const load = (name: string): unknown => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module: Module = { exports: {} };
    modules.set(name, module);
    const path = join(folder, name);
    const others = createRequire(path);
    const require: Require = (id) => (id.startsWith("./") ? load(basename(id)) : others(id));
    compile(path)(module.exports, require, module, path, folder);
    return module.exports;
  };

  const compile = (path: string): Run => {
    const bytes = readFileSync(path);
    const place = cache && join(cache, `${basename(path)}-${crc32(bytes).toString(16)}`);
    const cachedData = place === undefined ? undefined : readCode(place);
    const script = new Script(bytes.toString("latin1"), {
      filename: path,
      cachedData,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    const isCached = cachedData !== undefined && script.cachedDataRejected !== true;
    if (place !== undefined && !isCached) compiled.set(place, script);
    return script.runInThisContext() as Run;
  };

  return {
    load,
    save: () => {
      for (const [place, script] of compiled) writeCode(place, script.createCachedData());
      compiled.clear();
    },
  };
}

/** Undefined for a file that is missing or damaged; V8 refuses code of another version or text. */
function readCode(place: string): Buffer | undefined {
  try {
    const bytes = readFileSync(place);
    const code = bytes.subarray(CHECKSUM);
    return crc32(code) === bytes.readUInt32LE(0) ? code : undefined;
  } catch {
    return undefined;
  }
}

function writeCode(place: string, code: Buffer): void {
  const checksum = Buffer.alloc(CHECKSUM);
  checksum.writeUInt32LE(crc32(code));
  const temporary = `${place}.${process.pid}`;
  try {
    mkdirSync(join(place, ".."), { recursive: true });
    writeFileSync(temporary, Buffer.concat([checksum, code]));
    // Another process may read it at the same time.
    renameSync(temporary, place);
  } catch {
    // As without write access to the folder: the next start compiles again.
    removeQuietly(temporary);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Nothing was written there.
  }
}
