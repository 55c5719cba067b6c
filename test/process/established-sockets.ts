import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Established connections to a local port, as the socket inodes that this process holds. */
export function establishedSockets(pid: number, port: number): number {
  const inodes = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((t) => established(t, port)));
  return readOr([], () => readdirSync(`/proc/${pid}/fd`)).filter((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(
      readOr("", () => readlinkSync(`/proc/${pid}/fd/${fd}`)),
    )?.[1];
    return inode !== undefined && inodes.has(inode);
  }).length;
}

function established(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readOr("", () => readFileSync(table, "utf8"))
    .split("\n")
    .slice(1);
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    return state === "01" && local.endsWith(suffix) ? [inode] : [];
  });
}

/** What a file of /proc has; the default when the process or the descriptor has ended. */
function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
