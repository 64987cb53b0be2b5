/// How many agreements of a kind were checked, and how many hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Places where words have to agree.
    pub checked: u64,
    /// Those where they do.
    pub agreeing: u64,
}

impl Checked {
    pub(super) fn add(&mut self, agrees: bool) {
        self.checked += 1;
        self.agreeing += u64::from(agrees);
    }

    fn and(self, other: Self) -> Self {
        Self { checked: self.checked + other.checked, agreeing: self.agreeing + other.agreeing }
    }

    /// Whether all of them hold.
    pub fn all(self) -> bool {
        self.checked == self.agreeing
    }
}

/// What was found in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Sentences that were read; one without an end is none.
    pub sentences: u64,
    /// Those whose words stand in an order that the grammar has.
    pub parsed: u64,
    /// Those of them in which everything agrees.
    pub right: u64,
    /// Verbs: the number of the subject, and the tense of the verb before.
    pub verbs: Checked,
    /// Determiners: the number of the noun; `a` and `an`: the letter that follows.
    pub determiners: Checked,
    /// Pronouns: a reflexive one with the number of its subject, others with one thing alone of the sentence before.
    pub pronouns: Checked,
    /// Clauses inside of one another, at most.
    pub deepest: usize,
}

impl Agreement {
    /// Everything that was checked.
    pub fn all(&self) -> Checked {
        self.verbs.and(self.determiners).and(self.pronouns)
    }

    /// Adds what another text has.
    pub fn add(&mut self, other: &Self) {
        self.sentences += other.sentences;
        self.parsed += other.parsed;
        self.right += other.right;
        self.verbs = self.verbs.and(other.verbs);
        self.determiners = self.determiners.and(other.determiners);
        self.pronouns = self.pronouns.and(other.pronouns);
        self.deepest = self.deepest.max(other.deepest);
    }
}
