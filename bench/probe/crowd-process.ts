import { fileURLToPath } from "node:url";
import type { Lab } from "../experiment.ts";
import { type Conversation, LOAD_CORE } from "../stage.ts";
import type { CrowdSite } from "./crowd.ts";

/** Starts the process of `crowd.ts` with so many servers. */
export async function startCrowd(
  { stage }: Lab,
  count: number,
): Promise<{ readonly crowd: Conversation; readonly sites: readonly CrowdSite[] }> {
  const program = fileURLToPath(new URL("crowd.ts", import.meta.url));
  const args = [program, String(count)];
  const crowd = stage.converse({ program: process.execPath, args, cores: LOAD_CORE });
  return { crowd, sites: JSON.parse(await crowd.ask()) };
}
