"""Recording a version of the policy, and what a change leaves as it was."""
