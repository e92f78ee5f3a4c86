// The rules for the JavaScript of the pages and of its tests.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      complexity: ["error", 20],
      eqeqeq: ["error", "always"],
      "max-len": ["error", { code: 125, ignoreStrings: true, ignoreTemplateLiterals: true }],
      "max-lines": ["error", 400],
      "no-shadow": "error",
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  { files: ["static/js/**"], languageOptions: { globals: globals.browser } },
  { files: ["tests/node/**"], languageOptions: { globals: globals.node } },
];
