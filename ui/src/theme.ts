// Dark or light: as the system says, or as the reader has chosen, which is remembered where a browser remembers.

export type Theme = "light" | "dark";

const KEY = "hoptax-theme";

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** The theme that is shown. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset["theme"] ?? remembered();
  if (chosen === "light" || chosen === "dark") {
    return chosen;
  }
  return system().matches ? "dark" : "light";
}

function system(): MediaQueryList {
  return matchMedia("(prefers-color-scheme: dark)");
}

/** Calls whenever the system changes its theme. Returns what ends that. */
export function onThemeOfSystem(call: () => void): () => void {
  const of = system();
  of.addEventListener("change", call);
  return () => of.removeEventListener("change", call);
}

/** Shows the remembered theme. */
export function applyTheme(): void {
  const chosen = remembered();
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset["theme"] = chosen;
  }
}

/** Shows a theme from now on. */
export function chooseTheme(chosen: Theme): void {
  document.documentElement.dataset["theme"] = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // It holds for this page.
  }
}
