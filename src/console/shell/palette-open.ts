import { signal } from "@preact/signals";

/** Whether the palette is open. It is loaded on first use. */
export const paletteOpen = signal(false);

export function openPalette(): void {
  paletteOpen.value = true;
}
