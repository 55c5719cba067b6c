import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Rows that are there at once: about a screen. */
const FIRST = 12;
/** Rows that come each time one nears the end. */
const STEP = 40;

/**
 * Number of rows of a long list to show: grows on scrolling towards its end.
 *
 * @param end an element after the last row.
 * @param list name of the list; another one starts again.
 */
export function useScrolledCount(
  end: RefObject<HTMLElement | null>,
  length: number,
  list: string,
): number {
  const [state, setState] = useState({ list, count: FIRST });
  const count = state.list === list ? state.count : FIRST;
  useEffect(() => {
    const element = end.current;
    if (element === null || count >= length) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) setState({ list, count: count + STEP });
      },
      { rootMargin: "300px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [end, count, length, list]);
  return Math.min(count, length);
}
