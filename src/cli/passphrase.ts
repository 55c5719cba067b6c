import type { Arguments } from "./argument.ts";
import { usage } from "./failure.ts";
import { askHidden, canAsk } from "./prompt.ts";
import { readSecret } from "./secret.ts";
import type { World } from "./world.ts";

/** The passphrase of `--passphrase-file`, else of MOORING_PASSPHRASE; undefined when there is none. */
export function givenPassphrase(args: Arguments, world: World): string | undefined {
  const { MOORING_PASSPHRASE } = world.env;
  const nothing = ["", undefined] as const;
  return readSecret(
    { direct: nothing, file: ["--passphrase-file", args.text("passphrase-file")] },
    { direct: ["MOORING_PASSPHRASE", MOORING_PASSPHRASE], file: nothing },
    world,
  )?.text;
}

/** Asks for the passphrase of something that is sealed; undefined where nobody can be asked. */
export async function askPassphrase(world: World): Promise<string | undefined> {
  if (!canAsk(world)) return undefined;
  const answer = (await askHidden(world, "Passphrase of the backup")).trim();
  return answer === "" ? undefined : answer;
}

/**
 * The passphrase to seal with: a given one, or one that is typed twice.
 *
 * @throws CliFailure (usage) when there is none, or the two differ.
 */
export async function newPassphrase(args: Arguments, world: World): Promise<string> {
  return givenPassphrase(args, world) ?? (await typedTwice(world));
}

async function typedTwice(world: World): Promise<string> {
  if (!canAsk(world))
    throw usage(
      "--secrets seal needs a passphrase: name a file with --passphrase-file, or set MOORING_PASSPHRASE",
    );
  const passphrase = (await askHidden(world, "Passphrase for the backup")).trim();
  const again = (await askHidden(world, "The same again")).trim();
  if (passphrase !== again) throw usage("the two are not the same; nothing was written");
  return passphrase;
}
