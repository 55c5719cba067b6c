import { create } from "@bufbuild/protobuf";
import { type SiteInput, SiteInputSchema, SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { nearestName, quote } from "../config/complaint.ts";
import { nameList } from "../config/value.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import { readText, readValue } from "./file.ts";
import { askHidden, canAsk } from "./prompt.ts";

/**
 * Puts an argument such as `mode=follow` or `override:site_title=Harbour` into what a site is to be.
 *
 * @param overrides gets and loses what begins with `override:`.
 * @throws CliFailure that says how it is written.
 */
export function readMember(
  text: string,
  input: SiteInput,
  overrides: Record<string, string>,
): void {
  const at = text.indexOf("=");
  const [name, value] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  const key = /^override:(.+)$/s.exec(name)?.[1];
  if (key !== undefined) {
    if (value === undefined) delete overrides[key];
    else overrides[key] = value;
    return;
  }
  if (value === undefined) throw usage("an argument is no MEMBER=VALUE, such as mode=follow");
  switch (name) {
    case "mode":
      if (value !== "follow" && value !== "observe") throw usage("mode is follow or observe");
      input.mode = value === "follow" ? SiteMode.FOLLOW : SiteMode.OBSERVE;
      return;
    case "paused":
      if (value !== "true" && value !== "false") throw usage("paused is true or false");
      input.paused = value === "true";
      return;
    case "name":
      input.name = value;
      return;
    case "url":
      input.url = value;
      return;
    case "certificate_sha256":
      input.certificateSha256 = value;
      return;
    case "include":
    case "exclude":
      input[name] = create(SiteInputSchema, { [name]: { patterns: patternsOf(value, name) } })[
        name
      ] as NonNullable<SiteInput["include"]>;
      return;
    default:
      throw usage(
        `a site has no ${quote(name)}: did you mean ${nearestName(name, ["mode", "paused", "name", "url", "include", "exclude", "certificate_sha256", "override:KEY"])}?`,
      );
  }
}

function patternsOf(text: string, name: string): string[] {
  if (text === "") return [];
  const parsed = nameList(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`${name} ${parsed.complaint}`);
  return [...parsed.value];
}

/** The token of the site, from a file or typed; never an argument. */
export async function siteToken(
  { args, world }: CommandRun,
  needed: boolean,
): Promise<{ readonly token?: string }> {
  const path = args.text("site-token-file");
  if (path === undefined && !needed) return {};
  if (path === undefined && !canAsk(world))
    throw usage(
      "the site's token is missing: name a file with --site-token-file (- is standard input)",
    );
  const token =
    path === undefined ? await askHidden(world, "Token of the site") : await readValue(path, world);
  if (token.trim() === "") throw usage("the site's token is empty");
  return { token: token.trim() };
}

/** The authority of its certificate, where a file is named. */
export async function authority({ args, world }: CommandRun): Promise<{ readonly ca?: string }> {
  const path = args.text("ca-file");
  return path === undefined ? {} : { ca: await readText({ path, limit: 65_536 }, world) };
}
