import { signal } from "@preact/signals";

/** `auto`: as the system has it. */
export type Theme = "auto" | "light" | "dark";

const CHOSEN = "mooring.theme";
export const themes: readonly Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(
  themes.find((one) => one === localStorage.getItem(CHOSEN)) ?? "auto",
);

/** Shows the page as it was chosen, now and at the next visit. */
export function followTheme(): void {
  theme.subscribe((chosen) => {
    document.documentElement.dataset["theme"] = chosen;
    localStorage.setItem(CHOSEN, chosen);
  });
}
