/** A program's side of ./process.ts. */
type Functions = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Answers calls of the process that started this one. */
export function serve(functions: Functions): void {
  process.on("message", async ({ id, name, args }: { id: number; name: string; args: never[] }) => {
    try {
      send({ id, result: await functions[name]?.(...args) });
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      send({ id, error: { name, message } });
    }
  });
  process.once("disconnect", () => process.exit());
}

/** Sends an event. */
export function say(event: unknown): void {
  send({ event });
}

function send(message: object): void {
  // The parent may have ended.
  process.send?.(message, undefined, undefined, () => undefined);
}
