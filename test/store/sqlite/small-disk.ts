import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A separate disk of half a megabyte. */
export interface SmallDisk {
  /** Folder for a database. */
  readonly path: string;
  /** Fills its free space. */
  fill(): void;
  /** Releases the filled space. */
  free(): void;
}

/** Whether this user may mount a disk. */
export const canMount = isMounted();

function isMounted(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "mooring-disk-"));
  try {
    mount(folder);
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function mount(folder: string, size = "1m"): void {
  const options = { stdio: "ignore" } as const;
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], options);
}

/** Mounts a disk for a test. @param size default: `1m`. */
export function mountSmallDisk(size?: string): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "mooring-disk-"));
  mount(folder, size);
  onTestFinished(() => {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  const ballast = join(folder, "ballast");
  return {
    path: join(folder, "mooring.db"),
    free: () => rmSync(ballast, { force: true }),
    fill: () => {
      for (let size = 512 * 1024; size >= 512; size /= 2)
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(size), { flag: "a" });
        } catch {
          statSync(ballast);
        }
    },
  };
}
