import type { Client } from "@connectrpc/connect";
import type { MountService } from "../../gen/mooring/v1/mount_service_pb.js";

/** Names of mounts that together are larger than a page of 4 MiB. */
export const LARGE_MOUNTS = Array.from(
  { length: 100 },
  (_, at) => `m${String(at).padStart(3, "0")}`,
);

/** Bytes of the remark of each of them: nearly the maximum of 64 KiB. */
export const LARGE_REMARK_BYTES = 60_000;

/** Saves the large mounts on all sites, each at the path of its name, with a remark of one letter. */
export async function saveLargeMounts(
  mounts: Client<typeof MountService>,
  letter = "x",
): Promise<void> {
  const remark = letter.repeat(LARGE_REMARK_BYTES / Buffer.byteLength(letter));
  for (let at = 0; at < LARGE_MOUNTS.length; at += 20)
    await mounts.saveMounts({
      mounts: LARGE_MOUNTS.slice(at, at + 20).map((name) => ({
        name,
        mountPath: `/${name}`,
        driver: "Local",
        config: { root_folder_path: "/srv" },
        members: { remark },
        sites: { all: true },
      })),
    });
}
