/** Counts the ticks of the event loop during work: one if it leaves none to other work. */
export async function ticksDuring<T>(
  work: () => Promise<T>,
): Promise<{ readonly ticks: number; readonly result: T }> {
  let ticks = 0;
  let isOver = false;
  const tick = (): void => {
    ticks += 1;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  try {
    const result = await work();
    return { ticks, result };
  } finally {
    isOver = true;
  }
}
