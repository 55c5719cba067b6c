import { Agent, get } from "node:http";
import type { Mooring } from "./mooring.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Reads a setting over a keep-alive connection. @returns the duration in milliseconds. */
export async function timeRead({ port, token }: Mooring): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve, reject) => {
    const options = { agent, headers: { authorization: token } };
    get(
      `http://127.0.0.1:${port}/api/admin/setting/get?key=site_title`,
      options,
      (response) => void response.resume().on("end", resolve).on("error", reject),
    ).on("error", reject);
  });
  return performance.now() - began;
}
