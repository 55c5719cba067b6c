import { enLater } from "./en-later.ts";
import { learn } from "./language.ts";

// A page that imports this has all words by the time it is shown.
learn(enLater);
