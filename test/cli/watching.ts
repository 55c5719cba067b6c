import { runCli } from "../../src/cli/cli.ts";
import { type Ended, start } from "./world.ts";

/** A command that runs until it is interrupted. */
export function startWatching(args: readonly string[], env: Record<string, string>) {
  let interrupt: () => void = () => undefined;
  let notify: () => void = () => undefined;
  const pauses: number[] = [];
  const { world, ended, out, err } = start(args, {
    env,
    world: {
      onInterrupt: (listener) => {
        interrupt = listener;
        return () => undefined;
      },
      pause: async (ms) => {
        pauses.push(ms);
        await new Promise((resolve) => setTimeout(resolve, 20));
      },
    },
  });
  for (const stream of [world.stdout, world.stderr]) {
    const { write } = stream;
    stream.write = ((...written: Parameters<typeof write>) => {
      queueMicrotask(() => notify());
      return write.apply(stream, written);
    }) as typeof write;
  }
  const running: Promise<Ended> = runCli(world).then(ended);
  return {
    running,
    pauses,
    /** Resolves once either output stream contains the text. */
    until: (text: string) =>
      new Promise<void>((resolve) => {
        notify = () => {
          if ([...out, ...err].join("").includes(text)) resolve();
        };
        notify();
      }),
    interrupt: async (): Promise<Ended> => {
      interrupt();
      return running;
    },
  };
}
